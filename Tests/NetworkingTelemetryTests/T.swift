#if Telemetry
import Testing
#endif
