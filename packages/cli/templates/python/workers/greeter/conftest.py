pytest_plugins = ["svc.testing.pytest_plugin"]
