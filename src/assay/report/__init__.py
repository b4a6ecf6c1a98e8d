"""Results for people and programs: tables, JSON documents, text reports. Needs only the store."""
