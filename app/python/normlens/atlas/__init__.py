"""The atlas: which LayerNorms of the architectures of transformers and timm fold.

    python -m normlens.atlas
"""
