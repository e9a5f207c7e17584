public import NetworkingCore

/// A connectivity that tests and previews control.
///
/// ```swift
/// let connectivity = ManualConnectivity(.offline)
/// let network = MockTransport { _ in .ok() }
///     .whenOffline(.wait())
///     .environment(\.connectivity, connectivity)
///
/// async let response = network.data(request)
/// connectivity.update(.wifi)
/// #expect(try await response.status == .ok)
/// ```
public final class ManualConnectivity: Connectivity {
    private let statuses: Broadcast<ConnectivityStatus>

    /// Creates a connectivity.
    ///
    /// - Parameter status: The first status; `nil` if it is not known yet.
    public init(_ status: ConnectivityStatus? = .wifi) {
        statuses = .ofStatuses(from: status)
    }

    /// The current status; `nil` until the first one is set.
    public var status: ConnectivityStatus? {
        statuses.latest
    }

    /// The current status, and then each change.
    public var changes: AsyncStream<ConnectivityStatus> {
        statuses.elements(retaining: self)
    }

    /// The number of sequences of ``changes`` that have not ended, so that a test can wait for a reader.
    public var readers: Int {
        statuses.readers
    }

    /// Changes the status and notifies the readers.
    ///
    /// - Parameter status: The new status.
    public func update(_ status: ConnectivityStatus) {
        statuses.publishChange(to: status)
    }
}
