module example.org/worker

go 1.19
