#if Telemetry
import Metrics
import Tracing
#endif
