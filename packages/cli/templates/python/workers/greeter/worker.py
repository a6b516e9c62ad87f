import svc
from greeter import provide_greeter

worker = svc.connect(name="greeter")
provide_greeter(worker)
worker.run()
