"""What is made of many photos, one after another, while its page is looked at: averages and the ZIP file; both can be stopped."""
