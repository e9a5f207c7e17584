#if canImport(Darwin)
import Dispatch
import Synchronization
#endif

/// Tells while it lives when the system runs low on memory, which it does on Apple's platforms only.
package final class MemoryPressure: Sendable {
    #if canImport(Darwin)
    private let sources: Mutex<[any DispatchSourceMemoryPressure]>
    #endif

    /// Begins to tell.
    ///
    /// - Parameter handler: Is told, on a queue of the system's, whether it is critical.
    package init(_ handler: @escaping @Sendable (_ isCritical: Bool) -> Void) {
        #if canImport(Darwin)
        // One for each level, so that no handler has to ask its source.
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
