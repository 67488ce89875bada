"""What an answer was before an intervention, and after it."""
