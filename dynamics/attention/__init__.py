"""MAE against contrastive learning in a one-layer softmax ViT."""
