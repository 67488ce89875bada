"""Jobs on the page: work over many photos, and speed measurements, each with progress and a way to stop."""
