"""How the operating system keeps retaind running. Imports nothing of retaind."""
