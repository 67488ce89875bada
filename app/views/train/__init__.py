"""The page that starts and watches trainings."""
