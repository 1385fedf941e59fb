package library

func Nothing() {}
