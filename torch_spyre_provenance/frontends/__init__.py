"""The Spyre front ends that recording can build on."""
