# Loop test: does Belay stop an agent that changes the same files and meets the same failure?
#
#     belay serve                          # in another terminal
#     pwsh examples/loop-test.ps1          # or: pwsh examples/loop-test.ps1 -Base http://127.0.0.1:8787
#
# Posts two rounds of edit and failure for one session to Loop Watchdog's events API, then makes one model request as
# that session. Belay refuses the request with status 409. No request reaches a model, and no key is needed.
# `compat.pause_at` sets the number of rounds.
param([string]$Base = 'http://127.0.0.1:8787')
$ErrorActionPreference = 'Stop'

$session = "loop-test-$PID-$([DateTimeOffset]::UtcNow.ToUnixTimeSeconds())"

function Send-Event([string]$Kind, [string]$Summary, [hashtable]$Metadata) {
    $body = @{
        session_id = $session
        kind       = $Kind
        summary    = $Summary
        files      = @('src/payments/refund.py', 'tests/test_refund.py')
        metadata   = $Metadata
    } | ConvertTo-Json -Depth 4
    Invoke-RestMethod -Method Post -Uri "$Base/v1/watchdog/events" -ContentType 'application/json' -Body $body | Out-Null
}

$failure = @{ test_id = 'test_refund'; error = 'AssertionError: expected 200, got 500' }
foreach ($round in 1..2) {
    Send-Event 'file_edit' 'Changed the refund handler' @{}
    Send-Event 'test_failure' 'test_refund failed' $failure
    Write-Output "round ${round}: edit and failure reported"
}

$request = @{ model = 'gpt-5'; messages = @(@{ role = 'user'; content = 'Go on' }) } | ConvertTo-Json -Depth 4
$status = 0
try {
    $answer = Invoke-WebRequest -Method Post -Uri "$Base/v1/chat/completions" -ContentType 'application/json' `
        -Headers @{ 'x-loop-session' = $session } -Body $request -UseBasicParsing
    $status = [int]$answer.StatusCode
} catch {
    if (-not $_.Exception.Response) { throw }
    $status = [int]$_.Exception.Response.StatusCode
    Write-Output $_.ErrorDetails.Message
}

if ($status -eq 409) {
    Write-Output "passed: the request of session $session was refused with 409"
    Write-Output "To clean up: belay archive $session"
} else {
    [Console]::Error.WriteLine("failed: expected status 409, got $status")
    exit 1
}
