module x.test/empty

go 1.26
