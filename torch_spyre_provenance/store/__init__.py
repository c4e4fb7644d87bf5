"""Bundles on disk: the one JSON border, and the one writer."""
