module x.test/mixed

go 1.26
