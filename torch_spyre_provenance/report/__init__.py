"""Pure renderers: a bundle in, texts out. No clock, no disk, no host name."""
