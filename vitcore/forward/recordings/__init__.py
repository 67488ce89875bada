"""Recordings of many photos, and recordings as files, tables and plots."""
