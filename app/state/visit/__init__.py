"""What a page looks at: the photo and the models that are chosen, and the visit of both that its parts are given."""
