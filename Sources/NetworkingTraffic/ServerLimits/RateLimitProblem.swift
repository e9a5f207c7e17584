import FoundationForNetworking
public import NetworkingCore

/// The reason why a server has refused a request, from a body of type `application/problem+json`.
public struct RateLimitProblem: Sendable, Hashable {
    /// The kind of a problem.
    @nonexhaustive
    public enum Kind: String, Sendable, CaseIterable {
        /// The client has used up a quota.
        case quotaExceeded = "quota-exceeded"
        /// The server has less capacity than usual for a time.
        case temporaryReducedCapacity = "temporary-reduced-capacity"
        /// The server takes the requests for abuse.
        case abnormalUsageDetected = "abnormal-usage-detected"
    }

    /// The kind of the problem.
    public let kind: Kind
    /// The names of the policies that the request has violated; empty if the server names none.
    public let violatedPolicies: [String]
}

extension HTTPResponseData {
    /// The reason why the server has refused the request; `nil` if the body does not contain one of the problems of
    /// ``RateLimitProblem/Kind``.
    ///
    /// A body of more than 64 KiB, or one that went to a sink, is not read.
    public var rateLimitProblem: RateLimitProblem? {
        guard status.code >= 400, let data = body.data, data.count <= 65_536,
            let type = headerFields[singleton: .contentType]?.prefix(while: { $0 != ";" }),
            type.trimmed.lowercased() == "application/problem+json",
            let problem = try? JSONDecoder().decode(ProblemDocument.self, from: data)
        else { return nil }
        return problem.problem
    }
}

private struct ProblemDocument: Decodable {
    let problem: RateLimitProblem?

    private enum CodingKeys: String, CodingKey {
        case type
        case violatedPolicies = "violated-policies"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        // The drafts use several spellings of the registry's address, with the kind as its fragment.
        let parts = try container.decode(String.self, forKey: .type).split(separator: "#", maxSplits: 1)
        let policies = (try? container.decode([String].self, forKey: .violatedPolicies)) ?? []
        guard parts.count == 2, parts[0].hasSuffix("iana.org/assignments/http-problem-types"),
            let kind = RateLimitProblem.Kind(rawValue: String(parts[1]))
        else {
            problem = nil
            return
        }
        problem = RateLimitProblem(kind: kind, violatedPolicies: Array(policies.prefix(16)))
    }
}
