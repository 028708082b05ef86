"""Where documents may be: one module for each database, which alone knows its driver."""
