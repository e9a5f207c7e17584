#if canImport(Darwin)
import Dispatch
import Synchronization
#endif

/// An observer of memory pressure, which only Apple's platforms report; it observes as long as the object exists.
final class MemoryPressure: Sendable {
    #if canImport(Darwin)
    private let sources: Mutex<[any DispatchSourceMemoryPressure]>
    #endif

    /// Starts to observe.
    ///
    /// - Parameter handler: Receives whether the pressure is critical, on a queue of the system.
    init(_ handler: @escaping @Sendable (_ isCritical: Bool) -> Void) {
        #if canImport(Darwin)
        // One source for each level, so that no handler has to read the level from its source.
        let warning = DispatchSource.makeMemoryPressureSource(eventMask: .warning, queue: nil)
        warning.setEventHandler { handler(false) }
        warning.activate()
        let critical = DispatchSource.makeMemoryPressureSource(eventMask: .critical, queue: nil)
        critical.setEventHandler { handler(true) }
        critical.activate()
        sources = Mutex([warning, critical])
        #endif
    }

    #if canImport(Darwin)
    deinit {
        sources.withLock { sources in
            for source in sources {
                source.cancel()
            }
        }
    }
    #endif
}
