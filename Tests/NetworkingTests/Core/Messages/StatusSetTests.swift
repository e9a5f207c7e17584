import HTTPTypes
import Networking
import Testing

@Suite
struct StatusSetTests {
    @Test(
        arguments: [
            (.successful, [200, 204, 299], [100, 199, 300, 404, 500, 0, 999]),
            (.all, [0, 100, 200, 304, 404, 500, 599, 600, 999], []),
            (StatusSet(200...399), [200, 304, 399], [199, 400]),
            (StatusSet(200...299, 404...404), [200, 404], [403, 405]),
            ([200, 404], [200, 404], [201, 403]),
            ([], [], [200]),
            (.successful.union([404]), [200, 299, 404], [300, 403]),
        ] as [(StatusSet, [Int], [Int])]
    )
    func contains(set: StatusSet, inside: [Int], outside: [Int]) {
        for code in inside {
            #expect(set.contains(HTTPResponse.Status(code: code)), "\(code)")
        }
        for code in outside {
            #expect(!set.contains(HTTPResponse.Status(code: code)), "\(code)")
        }
    }

    @Test(
        arguments: [
            ([404, 500], [500, 404]),
            ([404, 404], [404]),
            (.successful.union([204]), .successful),
            (StatusSet(200...299, 300...399), StatusSet(200...399)),
            (StatusSet(200...350, 300...399), StatusSet(200...399)),
            (StatusSet(200...399, 300...310), StatusSet(200...399)),
            (StatusSet.all.union(.successful), .all),
            (StatusSet.successful.union(.all), .all),
            (StatusSet(arrayLiteral: 200, 201, 202), StatusSet(200...202)),
            (StatusSet(arrayLiteral: 404), StatusSet(404...404)),
        ] as [(StatusSet, StatusSet)]
    )
    func setsWithTheSameStatusesAreEqual(one: StatusSet, other: StatusSet) {
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
    }

    @Test func setsWithDifferentStatusesDiffer() {
        #expect(StatusSet.successful != .all)
        #expect(([404] as StatusSet) != [403])
        #expect(StatusSet(200...299, 301...399) != StatusSet(200...399))
    }

    @Test(arguments: [
        (0, false, false, false), (99, false, false, false), (100, false, false, false), (199, false, false, false),
        (200, true, false, false), (299, true, false, false), (300, false, false, false), (399, false, false, false),
        (400, false, true, false), (499, false, true, false), (500, false, true, true), (599, false, true, true),
        (600, false, false, false), (999, false, false, false),
    ])
    func classifiesStatusCodes(code: Int, isSuccess: Bool, isFailure: Bool, isServerError: Bool) {
        let status = HTTPResponse.Status(code: code)
        #expect(status.isSuccess == isSuccess)
        #expect(status.isFailure == isFailure)
        #expect(status.isServerError == isServerError)
    }

    @Test(arguments: [99, 100, 199, 200, 299, 300, 399, 400, 499, 500, 599, 600, 999])
    func statusHasTheClassOfItsFirstDigit(code: Int) {
        let status = HTTPResponse.Status(code: code)
        let classes = [
            status.isInformational, status.isSuccess, status.isRedirection, status.isClientError, status.isServerError,
        ]
        #expect(classes == (1...5).map { $0 == code / 100 })
    }

    @Test func literalHasNamesAndCodes() {
        let statuses: StatusSet = [.ok, .created, 404]
        #expect(statuses == StatusSet(200...201, 404...404))
        let request = HTTPRequestData(path: "a").with(\.acceptedStatuses, [.notModified, .ok])
        #expect(request.acceptedStatuses.contains(.notModified))
    }
}
