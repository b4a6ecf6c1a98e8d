"""What benchmarks are built on: checks, records of data, simulations. For authors of benchmarks."""
