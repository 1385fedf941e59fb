module x.test/exits

go 1.26
