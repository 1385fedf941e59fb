module x.test/racy

go 1.26
