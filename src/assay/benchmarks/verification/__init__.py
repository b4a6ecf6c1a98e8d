"""Is the code sound? Checks that hold for every correct potential, whatever it models. Each name is a true sentence."""
