# What CPack makes of the tree that packaging/deb lays out in NORMLENS_STAGE.
set(CPACK_PACKAGE_NAME normlens)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "viewer of neural networks that folds LayerNorm into RMSNorm")
set(CPACK_PACKAGE_DESCRIPTION
"NormLens opens neural networks in the formats TorchScript, torch.export and
ONNX, and finds which LayerNorms can become RMSNorms without changing any
output. It folds them, proves the result and writes the new model. LibTorch,
which TorchScript and torch.export need, comes with Python's torch.")
set(CPACK_INSTALLED_DIRECTORIES "$ENV{NORMLENS_STAGE};/")
set(CPACK_PACKAGING_INSTALL_PREFIX /)
set(CPACK_PACKAGE_FILE_NAME normlens)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS qt6-wayland)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
