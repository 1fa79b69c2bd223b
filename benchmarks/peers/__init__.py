"""The systems that the worker is compared with. Each program reads a job file and needs nothing of this project."""
