"""What is done with an nn.Module: exported, changed, compared. All of it imports torch."""
