"""A quiz of a photo and a model for a class: questions about their pictures, whose answers are computed, never written by hand.

    from vitcore.quiz.draw_quiz import draw
    from vitcore.quiz.quiz_data import look
    quiz = draw(look(vit, "photo.jpg", seed=7), seed=7)

This room stands on recordings, analysis and reports; the shell's verb `quiz` and the app's page only call it.
"""
