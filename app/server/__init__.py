"""The server beneath the pages: its first paint, its log, its open files, and slots for drawing."""
