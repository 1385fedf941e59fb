package project

// Codes of the findings about a kit that its descriptor's text alone cannot show. They are stable;
// a number that is missing had a meaning once and gets no other.
const (
	CodeTwoRecipes         = "KIT2001" // the recipe has two homes
	CodeRecipeUnreadable   = "KIT2002" // the recipe that is named cannot be read
	CodeNoRecipe           = "KIT2003" // a workload without content
	CodeKitsAndRecipe      = "KIT2004" // a set with content of its own
	CodeRecipeSelf         = "KIT2005" // the recipe names the kit frontend as its own
	CodeDerivedProvide     = "KIT2007" // an author wrote what only a build may derive
	CodeGuidanceReserved   = "KIT2008" // a context file would replace a staged source
	CodeGuidanceUnreadable = "KIT2009" // a context file cannot be read
	CodeRecipeArgClash     = "KIT2010" // two args with one name in the recipe
	CodeRecipeArgGiven     = "KIT2011" // a value under the recipe's name of an arg, past its checks
	CodeCreateArgGiven     = "KIT2012" // a build argument for an arg that a sandbox resolves (warning)
	CodeNoLaunch           = "KIT2013" // a workload whose image starts nothing
	CodeHomeOwner          = "KIT2014" // a mixin that hands over a home folder (warning)
	CodeArgUndeclared      = "KIT2015" // a build argument that nobody declares (warning)
	CodeCheckWarns         = "KIT2016" // a conformance check warns about what was built (warning)
	CodeBasePlatform       = "KIT2017" // a workload on a base of another platform
	CodeRecipeOverlooked   = "KIT2018" // no recipe, though there is a file that looks like one (warning)
	CodeArgUnused          = "KIT2019" // an arg that no recipe gets and no value refers to (warning)
	CodeRecipeSyntax       = "KIT2020" // the recipe does not parse
	CodeRecipeText         = "KIT2021" // the recipe is empty, or no text
	CodeStem               = "KIT2022" // the descriptor's file has a name that no image can hold as a folder
)
