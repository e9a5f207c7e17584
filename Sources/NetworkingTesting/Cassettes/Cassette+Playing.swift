import FoundationForNetworking
import Logging
import NetworkingCore
import NetworkingInspector
import Synchronization

extension Cassette {
    /// The decision about a request.
    enum Plan {
        case replay(Int)
        /// The request is sent and recorded, either as a new interaction or as a replacement.
        case record(ticket: Int, user: User?, replacing: Int?)
        case fail(String)
    }

    /// Decides how to handle a request, and reserves its interaction.
    func plan(for facts: CassetteFacts, of request: HTTPRequestData, for principal: Principal?) -> Plan {
        let user = user(principal)
        let now = NetworkEnvironment.current.clock.date
        // Compare outside of the lock, because matchers may run code of the app.
        let matches = mode == .all ? [] : matches(of: facts, for: user)
        let plan = state.withLock { state -> Plan? in
            guard !state.isFinished else {
                return .fail(
                    "The cassette at \(url.path) is finished. Send the request before finish(), "
                        + "or open the cassette again."
                )
            }
            if let index = choose(from: matches, state) {
                guard let expiration = options.expiration, isOld(index, expiration, now) else {
                    state.uses[index].append(request.id)
                    return .replay(index)
                }
                switch expiration.action {
                case .fail:
                    return .fail(reasonForAge(of: index, expiration))
                case .record where mayWrite:
                    let ticket = state.begin("\(facts.request)")
                    // Mark the interaction as used, so that the next equal request gets the next one.
                    state.uses[index].append(request.id)
                    return .record(ticket: ticket, user: user, replacing: index)
                case .warn, .record:
                    state.uses[index].append(request.id)
                    return .replay(index)
                }
            }
            // A request that matches an unused interaction out of order fails, instead of being recorded again.
            guard records, !matches.contains(where: { state.uses[$0].isEmpty }) else { return nil }
            return .record(ticket: state.begin("\(facts.request)"), user: user, replacing: nil)
        }
        if case .replay(let index) = plan { warnOfAge(of: index, at: now) }
        // Search for the nearest interaction outside of the lock, because it takes time.
        return plan ?? .fail(reasonForMiss(facts, user, matches))
    }

    /// Makes an interaction available again if its caller was cancelled before the response arrived.
    func giveBack(_ index: Int, of request: HTTPRequestData) {
        state.withLock { state in
            if let use = state.uses[index].lastIndex(of: request.id) { state.uses[index].remove(at: use) }
        }
    }

    /// The matching interactions.
    private func matches(of facts: CassetteFacts, for user: User?) -> [Int] {
        let candidates = tape.index[options.key(of: facts, for: user)] ?? []
        let comparing = options.matching.filter { $0.key == nil }
        guard !comparing.isEmpty else { return candidates }
        return candidates.filter { index in
            comparing.allSatisfy { $0.differences(tape.facts[index], facts).isEmpty }
        }
    }

    /// The next interaction for a request; nil if there is none.
    private func choose(from matches: [Int], _ state: State) -> Int? {
        let next = matches.first { state.uses[$0].isEmpty }
        if options.playsInOrder, let next, next != state.uses.firstIndex(where: \.isEmpty) { return nil }
        return next ?? (options.allowsRepeats ? matches.last : nil)
    }

    // MARK: Age

    private func isOld(_ index: Int, _ expiration: Expiration, _ now: Date) -> Bool {
        now.timeIntervalSince(tape.interactions[index].date) > expiration.age / .seconds(1)
    }

    private func warnOfAge(of index: Int, at now: Date) {
        guard let expiration = options.expiration, isOld(index, expiration, now),
            state.withLock({ $0.reportedOld.insert(index).inserted })
        else { return }
        NetworkEnvironment.current.logger.warning("\(reasonForAge(of: index, expiration))")
    }

    private func reasonForAge(of index: Int, _ expiration: Expiration) -> String {
        "Interaction \(index + 1) of the cassette \(url.path), \(label(of: index)), is older than \(expiration.age). "
            + "Record it again with mode .all."
    }

    // MARK: Misses

    /// The reason why no interaction is available for a request, with a way out.
    private func reasonForMiss(_ facts: CassetteFacts, _ user: User?, _ matches: [Int]) -> String {
        let state = state.withLock { $0 }
        if let next = matches.first(where: { state.uses[$0].isEmpty }),
            let expected = state.uses.firstIndex(where: \.isEmpty)
        {
            return "\(name) plays in order, and interaction \(next + 1) is not the next: that is \(expected + 1), "
                + "\(label(of: expected)). Send that first, or turn playsInOrder off."
        }
        if let last = matches.last, let request = state.uses[last].last {
            let times =
                matches.count == 1 ? "Interaction \(last + 1) matches" : "Interactions \(numbers(matches)) match"
            return
                "\(name) has no response left for this "
                + "request. \(times), and \(matches.count == 1 ? "was" : "were") replayed before, "
                + "the last to request \(request). Set allowsRepeats to replay it again, or \(wayOut)"
        }
        guard let nearest = nearest(to: facts, user, state) else {
            return "\(name) has no response for this request: it is empty. To record, \(wayOut)"
        }
        let use = state.uses[nearest.index].isEmpty ? "" : ", which was replayed before"
        let lines = nearest.lines.map { "\n  \($0)" }.joined()
        return "\(name) has no response for this request. The closest is interaction \(nearest.index + 1), "
            + "\(label(of: nearest.index))\(use):\(lines)\nIf the request is correct, \(wayOut)"
    }

    private var wayOut: String {
        "record the missing interactions with mode .newEpisodes, record all of them again with .all, or let the "
            + "request pass with the option passing."
    }

    private func numbers(_ indices: [Int]) -> String {
        indices.prefix(5).map { "\($0 + 1)" }.joined(separator: ", ") + (indices.count > 5 ? " and more" : "")
    }

    /// The interaction with the fewest differences, and the differences.
    private func nearest(to facts: CassetteFacts, _ user: User?, _ state: State) -> (index: Int, lines: [String])? {
        var best: (index: Int, lines: [String], score: Int)?
        for (index, recorded) in tape.facts.enumerated() {
            var lines: [String] = []
            var score = state.uses[index].isEmpty ? 0 : 1
            for matcher in options.matching {
                let differences = matcher.differences(recorded, facts)
                lines += differences
                // Several small differences weigh as much as one large one.
                score += 2 * matcher.weight * min(differences.count, 4)
            }
            let recordedUser = tape.interactions[index].user
            if recordedUser != user {
                lines.append(
                    "the user: recorded \(called(recordedUser)), now \(called(user))\(hint(recordedUser, user))"
                )
                score += 2
            }
            if score < best?.score ?? .max { best = (index, lines, score) }
        }
        return best.map { ($0.index, $0.lines) }
    }

    private func called(_ user: User?) -> String {
        user.map { "\($0)" } ?? "no user"
    }

    /// A hint that the numbers of two users may be swapped; empty unless both users have numbers.
    private func hint(_ recorded: User?, _ user: User?) -> String {
        guard case .number = recorded, case .number = user else { return "" }
        return " (users are numbered in the order of their first requests: if several start at the same time, name "
            + "them with principalName)"
    }
}
