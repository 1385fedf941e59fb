module x.test/panics

go 1.26
