#if TestServer
public import NetworkingCore

/// Checks whether a transport meets all requirements of a stack, and throws an error that lists all violations.
///
/// ```swift
/// @Test func conforms() async throws {
///     try await checkConformance(of: MyTransport(), except: ["trailers"])
/// }
/// ```
///
/// The checks run one after the other. A test with `TransportCheck.all` as its arguments reports more details while it
/// runs.
///
/// - Parameters:
///   - transport: The transport, or a stack that ends in it.
///   - exceptions: The names of checks that are not run.
/// - Throws: ``ConformanceFailures`` with the expected and the actual outcome of each failed check; `CancellationError`
///   if the caller is cancelled.
/// - Precondition: Each exception is the name of a check.
public func checkConformance(
    of transport: some NetworkingComponent,
    except exceptions: Set<String> = []
) async throws {
    let unknown = exceptions.subtracting(TransportCheck.all.map(\.name))
    precondition(unknown.isEmpty, "no check has the name \(unknown.sorted().joined(separator: ", "))")
    var failures: [ConformanceFailure] = []
    for check in TransportCheck.all where !exceptions.contains(check.name) {
        do {
            try await check.run(on: transport)
        } catch let failure as ConformanceFailure {
            failures.append(failure)
        }
    }
    if !failures.isEmpty {
        throw ConformanceFailures(failures: failures)
    }
}

/// A requirement that a transport does not meet.
public struct ConformanceFailure: Error, CustomStringConvertible {
    /// The name of the check.
    public private(set) var check = ""

    /// The expected outcome.
    public let expectation: String

    /// The actual outcome.
    public let outcome: String

    init(_ expectation: String, found outcome: String) {
        self.expectation = expectation
        self.outcome = outcome
    }

    func of(_ check: TransportCheck) -> ConformanceFailure {
        var failure = self
        failure.check = check.name
        return failure
    }

    /// The check, the expected and the actual outcome, on one line.
    public var description: String {
        "\(check): expected \(expectation); got \(outcome)"
    }
}

/// All requirements that a transport does not meet.
public struct ConformanceFailures: Error, CustomStringConvertible {
    /// The failures, one for each failed check.
    public let failures: [ConformanceFailure]

    /// The failures, one per line.
    public var description: String {
        failures.map(\.description).joined(separator: "\n")
    }
}
#endif
