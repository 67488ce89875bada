"""What is learned and how: the model, its objectives, optimisers, the loop, and what a step costs."""
