"""A quiz of a photo and a model for a class: questions about their pictures, whose answers are computed, never written by hand.

    from vitcore.quiz.draw_quiz import draw_quiz
    from vitcore.quiz.quiz_data import make_quiz_material
    quiz = draw_quiz(make_quiz_material(vit, "photo.jpg", seed=7), seed=7)

This room stands on recordings, analysis and reports; the shell's verb `quiz` and the app's page only call it.
"""
