"""The commands of ``spyre-provenance``, by what they are for."""
