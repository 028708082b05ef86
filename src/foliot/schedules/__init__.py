from foliot.schedules.cron import Cron
from foliot.schedules.every import Every
from foliot.schedules.once import Once
from foliot.schedules.schedule import Schedule
__all__=["Cron","Every","Once","Schedule"]
