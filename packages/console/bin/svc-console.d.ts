// Importing the program runs it: it has no exports.
export {};
