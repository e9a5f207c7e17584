#if TestServer
public import Networking

/// Tries a transport against everything that a transport owes its stack, and throws all that it breaks.
///
/// ```swift
/// @Test func conforms() async throws {
///     try await checkConformance(of: MyTransport(), except: ["trailers"])
/// }
/// ```
///
/// The checks run one after the other. A test with `TransportCheck.all` as its arguments tells more as it goes.
///
/// - Parameters:
///   - transport: The transport, or a stack that ends in it.
///   - exceptions: The names of checks that are not run.
/// - Throws: ``ConformanceFailures`` with what was expected and what came, for each check that fails;
///   `CancellationError` when the caller is cancelled.
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

/// What a transport owes its stack and does not do.
public struct ConformanceFailure: Error, CustomStringConvertible {
    /// The name of the check.
    public private(set) var check = ""

    /// What was expected.
    public let expectation: String

    /// What came.
    public let outcome: String

    init(_ expectation: String, came outcome: String) {
        self.expectation = expectation
        self.outcome = outcome
    }

    func of(_ check: TransportCheck) -> ConformanceFailure {
        var failure = self
        failure.check = check.name
        return failure
    }

    /// The check, what was expected and what came, in a line.
    public var description: String {
        "\(check): expected \(expectation); came \(outcome)"
    }
}

/// All that a transport owes its stack and does not do.
public struct ConformanceFailures: Error, CustomStringConvertible {
    /// What was expected and what came, for each check that failed.
    public let failures: [ConformanceFailure]

    /// The failures, one a line.
    public var description: String {
        failures.map(\.description).joined(separator: "\n")
    }
}
#endif
