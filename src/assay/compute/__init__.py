"""Everything that needs the model: survey, plan, workers, engines. Only `assay.api` and the command line import it."""
