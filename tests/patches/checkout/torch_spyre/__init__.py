"""A package shaped like torch-spyre where the codemods look, and nowhere else."""
