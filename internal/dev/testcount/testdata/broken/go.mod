module x.test/broken

go 1.26
