"""Reference data that comes with Assay, as small text files with their units in the column names."""
