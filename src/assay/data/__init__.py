"""Reference data: sets that come with Assay, published sets that are downloaded, and folders of the user."""
